/** The thread that reads large pipeline files. */
import { serveThread } from '../../../kernel/threads/serve-thread.ts';
import { readPipeline } from './pipeline-reading.ts';

serveThread(readPipeline);
