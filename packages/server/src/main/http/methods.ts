import type { FastifyInstance } from 'fastify';

interface Path {
  /** The segments of its pattern. */
  segments: readonly string[];
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
    methodsOf(path) {
      const segments = path.split('/');
      const fitting = [...paths.values()].filter((path) => fits(path.segments, segments));
      const [meant] = fitting.toSorted((one, other) => one.parameters - other.parameters);
      return meant && [...meant.methods].sort().join(', ');
    },
  };
}

/** `:name` is any segment, and `*` at the end is any rest. */
function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  const hasRest = pattern.at(-1) === '*';
  if (hasRest ? segments.length < pattern.length : segments.length !== pattern.length) return false;
  return pattern.every(
    (segment, index) =>
      segment === segments[index] ||
      (segment.startsWith(':') && segments[index] !== '') ||
      (segment === '*' && index === pattern.length - 1),
  );
}

function createPath(url: string): Path {
  return {
    segments: url.split('/'),
    parameters: url.split(/[:*]/).length,
    methods: new Set(['OPTIONS']),
  };
}
