" :make runs `tilec check`, and its errors and warnings are those of the quickfix list.
if exists('current_compiler')
    finish
endif
let current_compiler = 'tilec'

CompilerSet makeprg=tilec\ check\ %:S
CompilerSet errorformat=%E%trror[%*[^]]]:\ %m,%W%tarning[%*[^]]]:\ %m,%I%tote[%*[^]]]:\ %m,%C\ %#-->\ %f:%l:%c,%-G%.%#
