/** {@code tutti sim}: random scenarios in the simulated world, checked; failing ones run again. */
@NullMarked
package tutti.cli.sim;

import org.jspecify.annotations.NullMarked;
