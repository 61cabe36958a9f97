/**
 * Calls between real and simulated objects (D5.1, section 2.4.2): real code calls a simulated object through an
 * {@link tutti.minha.proxy.EntryProxy}, simulated code a real one through an {@link tutti.minha.proxy.ExitProxy}. Both
 * sides see the interface and nothing else.
 */
@NullMarked
package tutti.minha.proxy;

import org.jspecify.annotations.NullMarked;
