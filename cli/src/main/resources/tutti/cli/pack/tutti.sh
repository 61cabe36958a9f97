#!/bin/sh
# The tutti command of a package: brings its Java runtime along. `tutti --help` says what it can do.
set -eu

home=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
jar="$home/tutti-cli.jar"
main=tutti.cli.Tutti
memory="-Xms32m -Xmx${TUTTI_HEAP:-1g}"
options=-XX:TieredStopAtLevel=4
access="--enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow"
collector=-XX:+UseSerialGC
classpath() { printf %s "$jar${TUTTI_CLASSPATH:+:$TUTTI_CLASSPATH}"; }

# A node needs the server's libraries only, and begins with what nodes of this package have learnt.
if [ "${1:-}" = node ]; then
  for jar in "$home"/lib/tutti-server-*.jar; do main=tutti.server.NodeProgram; done
  for cache in "$home"/lib/tutti-server-*.aot; do
    if [ -f "$cache" ]; then options="-XX:+UseCompactObjectHeaders -XX:AOTCache=$cache"; fi
  done
  # Heap and code in pages of 2 MiB, if the system gives them to whoever asks.
  allowed=/sys/kernel/mm/transparent_hugepage/enabled
  if [ -r "$allowed" ] && read -r pages <"$allowed"; then
    case "$pages" in *"[never]"*) ;; *) options="$options -XX:+UseTransparentHugePages" ;; esac
  fi
  # It says itself which collector suits its database; what is wrong with its configuration it says when it starts.
  # shellcheck disable=SC2086
  said=$("$home/runtime/bin/java" "$collector" -Xlog:disable -XX:-UsePerfData $access $options -cp "$(classpath)" "$main" \
    "$@" --java-options 2>/dev/null </dev/null) || said=
  case "$said" in -XX:+Use*GC) collector=$said ;; esac
fi
for option in ${TUTTI_JAVA_OPTIONS:-}; do
  case "$option" in -XX:+Use*GC) collector= ;; esac
done
# Words are to be split; the package's own path must have no space in it, which installing it in /opt sees to.
# shellcheck disable=SC2086
exec "$home/runtime/bin/java" $collector -XX:-UsePerfData -XX:+ExitOnOutOfMemoryError $memory \
  $access $options ${TUTTI_JAVA_OPTIONS:-} -cp "$(classpath)" "$main" "$@"
