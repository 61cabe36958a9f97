/**
 * Figure 2.10 of GORDA D5.1: programs that use sockets, the group communication among them, run on this machine and in the simulation,
 * where they are charged the processor time that they take (section 2.1.3), and compared.
 */
@NullMarked
package tutti.eval.network;

import org.jspecify.annotations.NullMarked;
