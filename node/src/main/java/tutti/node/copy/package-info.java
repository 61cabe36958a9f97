/**
 * How a node that goes on serving gives another one a copy of its state: {@link tutti.node.copy.CopyDonor} sends files in pieces,
 * {@link tutti.node.copy.CopyReceiver} writes them aside and says when all of them are there. What the files are is for
 * {@link tutti.node.copy.CopySource} to say, what becomes of them for the receiver's owner.
 */
@NullMarked
package tutti.node.copy;

import org.jspecify.annotations.NullMarked;
