/**
 * The entry point of a process of runs, started by `pool/run-process.ts`. It does one run after the other. When
 * its code is loaded it gives up its right to read files, and nothing of it can change any more: all that a run
 * leaves is in objects of that run. The process exits with the agent.
 */
import { createRunCaches } from '../ports/run-caches.ts';
import { listenForRuns } from './process-of-runs.ts';

await listenForRuns(createRunCaches());
