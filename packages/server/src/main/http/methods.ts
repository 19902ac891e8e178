import type { FastifyInstance } from 'fastify';

interface Path {
  form: RegExp;
  /** If two forms match, the one with fewer parameters applies, as in the router. */
  parameters: number;
  methods: Set<string>;
}

/** The sorted methods of a path; undefined for an unknown path. */
export type MethodsOf = (path: string) => string | undefined;

/**
 * The value of `Allow`, in 405 and for OPTIONS (RFC 9110 §9.3.7, §15.5.6): the methods of all routes that
 * are registered after `watch`.
 */
export function createMethodTable(): { watch(app: FastifyInstance): void; methodsOf: MethodsOf } {
  const paths = new Map<string, Path>();
  return {
    watch(app) {
      app.addHook('onRoute', ({ url, method }) => {
        const path = paths.get(url) ?? createPath(url);
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

function createPath(url: string): Path {
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
