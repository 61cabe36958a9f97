/**
 * The evaluation platform of GORDA D5.1, chapter 2: the protocols of {@code core}, unchanged, between models of clients,
 * databases and networks that keep keys and times only, so that hundreds of thousands of transactions take seconds. What
 * goes wrong in detail is the business of {@code tutti.sim.world}; how fast something is, is answered here.
 *
 * <pre>
 *  Clients ──► ModelReplica ──► PROTOCOL ──► Channel (modelled sequencer, or real group communication) ──► every replica
 *                 │  Locals: locks, processors          Pipeline: locks, processors, log, visible in order
 * </pre>
 */
@NullMarked
package tutti.model;

import org.jspecify.annotations.NullMarked;
