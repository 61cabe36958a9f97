/**
 * What the programs have in common that people start: the frame of a command line with its exit status
 * ({@link tutti.command.Program}), errors with a remedy ({@link tutti.command.Failure}), what is shown on a terminal
 * ({@link tutti.command.Screen}), and where the log goes (logback.xml).
 */
@NullMarked
package tutti.command;

import org.jspecify.annotations.NullMarked;
