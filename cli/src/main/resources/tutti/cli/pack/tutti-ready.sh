#!/bin/bash
# Is the node of this container ready? Exit status 0 if it is: the image's health check. Its http.host must take 127.0.0.1, as 0.0.0.0 does;
# otherwise set TUTTI_HTTP_HOST and TUTTI_HTTP_PORT.
exec 3<>"/dev/tcp/${TUTTI_HTTP_HOST:-127.0.0.1}/${TUTTI_HTTP_PORT:-8008}" || exit 1
printf 'GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
read -r -t 5 _ status _ <&3
[ "$status" = 200 ] || { echo "the node answers ${status:-nothing}" >&2; exit 1; }
