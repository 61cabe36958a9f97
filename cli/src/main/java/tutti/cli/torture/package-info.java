/**
 * Torture: real nodes on networks and disks of their own, faults of every kind by a plan, clients by every public way, and the
 * simulator's checkers over what they saw.
 */
@NullMarked
package tutti.cli.torture;

import org.jspecify.annotations.NullMarked;
