/** How many options a list shows at a time; letters find the others. Thousands of them would take seconds to draw. */
export const mostOptions = 100;
