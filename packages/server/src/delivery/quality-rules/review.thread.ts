/** The thread that reviews pipelines. */
import { serveThread } from '../../kernel/threads/serve-thread.ts';
import { carryOut } from './review-order.ts';

serveThread(carryOut);
