/** Assignments in expressions. An expression has variables of its own copy, so an assignment changes nothing and is its own value. */

const texts = /'(?:[^'\\]|\\[\s\S])*'|"(?:[^"\\]|\\[\s\S])*"|`(?:[^`\\]|\\[\s\S])*`/g;
/** A name, the members that follow it, and an operator that assigns; not `==`, `=>`, `<=`. */
const assignment =
  /(?<![\w$.])(?<declared>(?:let|const|var)\s+)?(?<name>[A-Za-z_$][\w$]*)(?:\.[\w$]+|\[[^\][]{0,200}\])*[\s)]*(?:=(?![=>])|(?:\*\*|<<|>>>?|&&|\|\||\?\?|[-+*/%&|^])=(?!=)|\+\+|--)/g;
const prefixed = /(?:\+\+|--)\s*(?<name>[A-Za-z_$][\w$]*)/g;

/** The first of the variables that the expression assigns to. Local variables of the expression are not meant. */
export function assignedVariable(
  expression: string,
  isVariable: (name: string) => boolean,
): string | undefined {
  const code = expression.replaceAll(texts, '""');
  for (const pattern of [assignment, prefixed])
    for (const { groups } of code.matchAll(pattern)) {
      const { name = '', declared } = groups ?? {};
      if (declared === undefined && isVariable(name)) return name;
    }
  return undefined;
}

export const assigns = (variable: string) =>
  `the condition assigns to "${variable}", which changes no variable: compare with == instead`;
