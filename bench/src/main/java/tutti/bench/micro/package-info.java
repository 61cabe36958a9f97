/** Measurements of single classes with JMH, and of the order beside its peers under the same load. */
@NullMarked
package tutti.bench.micro;

import org.jspecify.annotations.NullMarked;
