if exists('b:did_ftplugin')
    finish
endif
let b:did_ftplugin = 1
let b:undo_ftplugin = 'setlocal comments< commentstring< shiftwidth< expandtab< formatoptions<'

setlocal comments=:///,://
setlocal commentstring=//\ %s
setlocal shiftwidth=4 expandtab
setlocal formatoptions-=t formatoptions+=croql

" :make checks the file.
if !exists('current_compiler')
    compiler tilec
endif
