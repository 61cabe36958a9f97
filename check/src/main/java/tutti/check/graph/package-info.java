/** Direct serialization graphs and the search for cycles in them. */
@NullMarked
package tutti.check.graph;

import org.jspecify.annotations.NullMarked;
