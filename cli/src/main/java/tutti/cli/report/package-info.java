/** Reports of runs: numbers, plots, one file of HTML. */
@NullMarked
package tutti.cli.report;

import org.jspecify.annotations.NullMarked;
