import { createTheme, Drawer, Modal, Tooltip } from '@mantine/core';

// Locking the scroll bar would add a style element at run time, which the policy of the pages forbids.
const unlocked = { lockScroll: false } as const;

export const theme = createTheme({
  fontFamily: 'var(--font-text)',
  fontFamilyMonospace: 'var(--font-code)',
  defaultRadius: 'sm',
  cursorType: 'pointer',
  components: {
    Modal: Modal.extend({ defaultProps: { ...unlocked, transitionProps: { duration: 90 } } }),
    Drawer: Drawer.extend({ defaultProps: { ...unlocked, transitionProps: { duration: 120 } } }),
    Tooltip: Tooltip.extend({ defaultProps: { openDelay: 300, transitionProps: { duration: 80 } } }),
    Button: { defaultProps: { size: 'xs' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Select: { defaultProps: { size: 'sm', comboboxProps: { transitionProps: { duration: 80 } } } },
    Menu: { defaultProps: { transitionProps: { duration: 80 }, position: 'bottom-end' } },
  },
});
