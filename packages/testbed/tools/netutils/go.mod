module capstan.dev/testbed/netutils

go 1.24
