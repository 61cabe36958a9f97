/** The evaluation platform on the command line: runs of scenario files, and the figures of the papers. */
@NullMarked
package tutti.eval;

import org.jspecify.annotations.NullMarked;
