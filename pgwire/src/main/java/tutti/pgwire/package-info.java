/**
 * The PostgreSQL wire protocol, version 3, both sides of it: a codec on Netty's buffers, authentication, TLS, and
 * asynchronous connections to servers. It knows nothing of replication.
 */
@NullMarked
package tutti.pgwire;

import org.jspecify.annotations.NullMarked;
