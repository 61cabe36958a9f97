/**
 * How everything is written that nodes tell each other or keep: each message declares its fields in one place, a
 * {@link tutti.core.schema.Schema}, and from that follow its bytes, their number, the checks of what is read, and
 * {@code docs/wire-format.md}.
 *
 * <p>
 * <b>Bytes.</b> A message is one byte with the version in which it was written, one with its kind, then its fields in the
 * order of their declaration, big-endian, without padding. What has no fixed size has a count or a length of four bytes
 * before it.
 *
 * <p>
 * <b>A hostile world.</b> Nothing is allocated for a count before the bytes that are left have been found to suffice for it and
 * its declared limit to hold; numbers outside of their range, bytes behind the end, unknown kinds and versions are refused.
 * Whatever the bytes are, reading gives a value or a {@link tutti.core.schema.DecodeException}.
 *
 * <p>
 * <b>Change.</b> There is one version number for all messages ({@link tutti.core.schema.Versions#SPOKEN}). A change of any
 * message raises the newest: a new field or kind says since which version it is there, and a field what it is for those who do
 * not know it. Whoever writes is told in which version: the newest that all who are to read it are known to speak. What was
 * written says its version, so a log or a file may hold several. The oldest is raised when nobody can hold such bytes any more,
 * and only then may a field go.
 */
@NullMarked
package tutti.core.schema;

import org.jspecify.annotations.NullMarked;
