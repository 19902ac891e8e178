import type { FastifyInstance } from 'fastify';

interface Path {
  form: RegExp;
  /** Of two forms that fit, the one with fewer is meant, as in the router. */
  parameters: number;
  methods: Set<string>;
}

/** The methods of a path, sorted; undefined for a path that leads nowhere. */
export type MethodsOf = (path: string) => string | undefined;

/** What `Allow` names, in 405 and to OPTIONS (RFC 9110 §9.3.7, §15.5.6): the methods of every route that is registered after `watch`. */
export function createMethodTable(): { watch(app: FastifyInstance): void; methodsOf: MethodsOf } {
  const paths = new Map<string, Path>();
  return {
    watch(app) {
      app.addHook('onRoute', ({ url, method }) => {
        const path = paths.get(url) ?? pathOf(url);
        for (const each of [method].flat()) path.methods.add(each);
        paths.set(url, path);
      });
    },
    methodsOf(asked) {
      const fitting = [...paths.values()].filter(({ form }) => form.test(asked));
      const [meant] = fitting.toSorted((one, other) => one.parameters - other.parameters);
      return meant && [...meant.methods].sort().join(', ');
    },
  };
}

function pathOf(url: string): Path {
  const form = url
    .replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll(/:\w+/g, '[^/]+')
    .replaceAll('*', '.*');
  return {
    form: new RegExp(`^${form}$`),
    parameters: url.split(/[:*]/).length,
    methods: new Set(['OPTIONS']),
  };
}
