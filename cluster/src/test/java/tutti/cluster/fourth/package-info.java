/** A fourth engine, made of a descriptor and a line in {@code META-INF/services}: as somebody else's jar would bring one. */
@NullMarked
package tutti.cluster.fourth;

import org.jspecify.annotations.NullMarked;
