/**
 * YAML files that people write, configurations and scenarios: read as text with lines, and everything that is wrong with one
 * told at once. What the keys mean is for the rooms above.
 */
@NullMarked
package tutti.yaml;

import org.jspecify.annotations.NullMarked;
