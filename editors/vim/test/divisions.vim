" Reads the lines by which VS Code's grammar is tested: what each `//` is to the compiler, it is to the colours here. From this folder:
"   vim -es -Nu NONE -S divisions.vim
if !has('syntax')
    qall!
endif
set runtimepath^=..
filetype plugin on
syntax on
let s:wrong = []
let s:count = 0
for s:line in readfile('../../vscode/test/divisions.txt')
    if s:line ==# ''
        continue
    endif
    enew!
    call setline(1, strpart(s:line, 4))
    set filetype=tile
    let s:got = ''
    let s:at = 1
    while s:at <= strlen(getline(1))
        let s:group = synIDattr(synID(1, s:at, 1), 'name')
        if s:group =~# 'Comment$'
            let s:got .= 'C'
            break
        endif
        let s:division = s:group ==# 'tileOperator' && strpart(getline(1), s:at - 1, 2) ==# '//'
        if s:division
            let s:got .= 'D'
        endif
        let s:at += s:division ? 2 : 1
    endwhile
    let s:count += 1
    let s:want = substitute(strpart(s:line, 0, 4), ' ', '', 'g')
    if s:got !=# s:want
        call add(s:wrong, s:got . ' and not ' . s:want . ': ' . strpart(s:line, 4))
    endif
endfor
if s:count < 20
    call add(s:wrong, 'only ' . s:count . ' lines were read')
endif
enew!
call setline(1, empty(s:wrong) ? [s:count . ' lines with // are right'] : s:wrong)
%print
execute empty(s:wrong) ? 'qall!' : 'cquit!'
