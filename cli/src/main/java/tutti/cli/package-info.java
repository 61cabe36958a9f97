/**
 * The {@code tutti} command. {@link tutti.cli.Tutti} registers the commands; those that start clusters, ask them, and run
 * the simulator are here, with the demonstration ({@code tutti.cli.demo}); those that measure are in {@code bench} and
 * {@code eval}, and {@code tutti node} is in {@code server}.
 */
@NullMarked
package tutti.cli;

import org.jspecify.annotations.NullMarked;
