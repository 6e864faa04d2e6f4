test -s "made/$1" && echo "$1 is made"
