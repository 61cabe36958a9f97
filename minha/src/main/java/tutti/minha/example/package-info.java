/**
 * The three programs of D5.1, appendix C, written anew for {@link tutti.minha}: datagrams, tasks with times, locks.
 * {@code ./tutti sim example} runs them.
 */
@NullMarked
package tutti.minha.example;

import org.jspecify.annotations.NullMarked;
