/** What it costs to make a list, a map or an object, before what its parts cost. */
export const LIST_COST = 10;
export const MAP_COST = 30;
export const STRUCT_COST = 40;

/** For each character of a text that is gone through. */
export const TRAVERSAL = 0.1;
/** For each character of a pattern, by which the cost of the text is multiplied. */
export const PATTERN = 0.25;

/** The most that one authorization check may cost, so that an expression can make two. */
export const AUTHORIZATION = 350_000;
