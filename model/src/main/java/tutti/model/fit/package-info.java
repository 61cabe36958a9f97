/**
 * Distributions fitted to what was measured (D5.1, section 2.5.1 and appendix A): the parameters of each family by maximum
 * likelihood, how far each is from the sample, and which is taken. Distribution functions and distances are those of
 * Apache Commons Statistics.
 */
@NullMarked
package tutti.model.fit;

import org.jspecify.annotations.NullMarked;
