/**
 * What a call of a Java interface is: its operations, which of them only read, and the generated code that turns calls
 * into something that can be scheduled, stored and sent.
 */
@NullMarked
package tutti.macro.call;

import org.jspecify.annotations.NullMarked;
