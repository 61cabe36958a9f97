/** The PostgreSQL wire protocol, both sides of it: message codec, authentication, connections to servers. */
@NullMarked
package tutti.pgwire;

import org.jspecify.annotations.NullMarked;
