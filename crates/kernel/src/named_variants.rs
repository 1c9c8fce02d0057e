//! Enums whose variants have names, each stated once.

/// Defines an enum with a name for each variant, the array `ALL` of its variants and
/// the method `name`.
///
/// A variant cannot be missing from `ALL`, which has the order of the declaration. The
/// docs of the enum say where the names are used, such as on the wire. A type whose
/// names are also read adds a `from_name`, which decides whether case matters:
///
/// ```
/// use pia_kernel::named_variants;
///
/// named_variants! {
///     /// Size of a shirt, with its name on the wire.
///     #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
///     pub enum Size {
///         /// Fits children.
///         Small = "small",
///         /// Fits most adults.
///         #[default]
///         Large = "large",
///     }
/// }
///
/// impl Size {
///     /// Returns the size with exactly this name.
///     pub fn from_name(name: &str) -> Option<Self> {
///         Self::ALL.into_iter().find(|it| it.name() == name)
///     }
/// }
///
/// assert_eq!(Size::ALL, [Size::Small, Size::Large]);
/// assert_eq!(Size::ALL.map(Size::name), ["small", "large"]);
/// assert_eq!(Size::from_name("large"), Some(Size::default()));
/// ```
#[macro_export]
macro_rules! named_variants {
    (
        $(#[$meta:meta])*
        $vis:vis enum $type:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $name:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis enum $type {
            $($(#[$variant_meta])* $variant,)+
        }

        impl $type {
            /// All variants, in the order of their declaration.
            $vis const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns the name of the variant.
            $vis fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}
