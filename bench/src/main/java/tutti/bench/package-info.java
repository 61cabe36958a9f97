/**
 * The commands of {@code tutti bench}: each says what it measured, on what, how often, and with what spread. Systems are
 * measured side by side here; single classes with JMH in {@code tutti.bench.micro}.
 */
@NullMarked
package tutti.bench;

import org.jspecify.annotations.NullMarked;
