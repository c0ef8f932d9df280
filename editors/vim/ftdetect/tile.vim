autocmd BufRead,BufNewFile *.tile setfiletype tile
