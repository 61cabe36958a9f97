/** The certification index: who wrote which key last, in the total order. */
@NullMarked
package tutti.core.certify;

import org.jspecify.annotations.NullMarked;
