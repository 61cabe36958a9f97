package tutti.minha.rewrite;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A static method that gives the argument which rewritten programs pass to a constructor of the JDK when they call the one
 * without arguments.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@interface Completes {
    /** Whose constructors they are. */
    Class<?>[] value();
}
