/**
 * Calibration and validation of the performance model against a real PostgreSQL (GORDA D5.1, sections 2.5 and 2.6): what
 * transactions cost is measured one at a time, distributions are fitted to it, and the same scenario is run in both worlds.
 */
@NullMarked
package tutti.eval.calibrate;

import org.jspecify.annotations.NullMarked;
