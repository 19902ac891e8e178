/** Connectors whose code is loaded at their first use: most agents call no API. */
import type { Connectors, ConnectorsOptions } from './connectors.ts';

export function createLazyConnectors(options: ConnectorsOptions): Connectors {
  let loading: Promise<Connectors> | undefined;
  function load(): Promise<Connectors> {
    loading ??= import('./connectors.ts').then(
      ({ createConnectors }) => createConnectors(options),
      (failure: unknown) => {
        // The next call tries again: there may have been too many open files.
        loading = undefined;
        throw failure;
      },
    );
    return loading;
  }
  return {
    open: async (opened, use) => (await load()).open(opened, use),
    download: async (...file) => (await load()).download(...file),
    openStore: async (...address) => (await load()).openStore(...address),
    fetchObject: async (...asked) => (await load()).fetchObject(...asked),
    convertFile: async (...request) => (await load()).convertFile(...request),
    tokens: {
      read: async (...requests) => (await load()).tokens.read(...requests),
      authorize: async (...requests) => (await load()).tokens.authorize(...requests),
      settle: async () => (await loading)?.tokens.settle(),
    },
  };
}
