/** Mirrors of {@code java.util.concurrent}, with its interfaces: executors, queues and synchronizers whose waiting is virtual time. */
@NullMarked
package tutti.minha.jdk.util.concurrent;

import org.jspecify.annotations.NullMarked;
