/** The address without slashes at its end, so that paths can follow it. */
export function trimAddress({ href }: URL): string {
  let end = href.length;
  while (href[end - 1] === '/') end -= 1;
  return href.slice(0, end);
}
