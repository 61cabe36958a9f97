/** What semantic reliability is worth to a group whose network loses messages, or one of whose members is slow. */
@NullMarked
package tutti.eval.subjects;

import org.jspecify.annotations.NullMarked;
