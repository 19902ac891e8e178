/** The thread in which the index of the search is made. */
import { serveThread } from '../../kernel/threads/serve-thread.ts';
import { renderSearchIndex } from './search-index.ts';

serveThread(renderSearchIndex);
