/**
 * How far V8's heap may grow from one large collection to the next. V8 plans to mark within half a second all that the heap has come to,
 * garbage too, and what its own threads do not manage of that is done by the one that answers requests. So the more a heap grows, the less is
 * left for requests while it is marked. In percent alone, ten thousand waiting agents would let it grow by three times as much as a server
 * without them: it grows by the same, and is marked oftener and more gently (docs/adr/0026).
 */
import {
  constants,
  type NodeGCPerformanceDetail,
  type PerformanceEntry,
  PerformanceObserver,
} from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

const growthBytes = 40 * 1_048_576;
/** What scripts/bootstrap.mjs starts with. */
const mostPercent = 100;
/** Marking is not to become all that is done. */
const leastPercent = 20;

export function growthPercent(liveBytes: number): number {
  return Math.min(mostPercent, Math.max(leastPercent, Math.round((growthBytes / liveBytes) * 100)));
}

/** From now on. What is set after one collection counts from the next one on. */
export function limitHeapGrowth(): void {
  const observer = new PerformanceObserver((list) => {
    if (!list.getEntries().some(isLarge)) return;
    // V8 reads this setting whenever it sets the limit of its heap.
    setFlagsFromString(`--heap-growing-percent=${growthPercent(getHeapStatistics().used_heap_size)}`);
  });
  observer.observe({ entryTypes: ['gc'] });
}

function isLarge(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceEntry & { detail: NodeGCPerformanceDetail };
  return detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
