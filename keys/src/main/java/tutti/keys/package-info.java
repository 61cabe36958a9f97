/**
 * A cluster's own authority: it gives the cluster its id, and each node a certificate that names both. Texts in PEM come in and
 * go out; where they are kept is for the rooms above. What reads certificates when nodes connect is
 * {@code tutti.runtime.real.PeerKeys}.
 */
@NullMarked
package tutti.keys;

import org.jspecify.annotations.NullMarked;
