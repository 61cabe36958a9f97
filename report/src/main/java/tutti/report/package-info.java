/** Reports of runs: numbers, plots, one file of HTML. */
@NullMarked
package tutti.report;

import org.jspecify.annotations.NullMarked;
