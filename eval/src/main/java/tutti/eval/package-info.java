/**
 * The evaluation platform of GORDA D5.1 as programs: runs of scenario files on the performance model, the figures of the
 * papers, and, in {@code tutti.eval.calibrate}, the measurements of a real PostgreSQL that the model's costs come from and
 * the comparison of the two.
 */
@NullMarked
package tutti.eval;

import org.jspecify.annotations.NullMarked;
